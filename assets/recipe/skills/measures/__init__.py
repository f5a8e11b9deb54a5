"""Numbers of something: units, amounts, times and dates, and sums told as stories."""
