"""Running one engine command without a screen: input, output, exports, shutdown."""
