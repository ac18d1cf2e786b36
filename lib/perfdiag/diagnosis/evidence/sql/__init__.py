"""What rules on databases share."""
