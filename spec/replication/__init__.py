"""What designs that replicate partitions share: `abstract_isr`, the page that each of them implements."""
