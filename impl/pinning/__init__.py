"""KIP-39, pinning the controller: sans-IO cores, and the broker process and tool around them."""
