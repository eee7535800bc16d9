"""Pure decisions: who behaves how, what the coordinator keeps, both halves of the assignor, who gets which tasks."""
