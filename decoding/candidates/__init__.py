"""Who proposes continuations of the last token, and how proposals are merged."""
