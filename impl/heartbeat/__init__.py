"""KIP-343, heartbeats to the controller: sans-IO cores, and the broker process and tool around them."""
