"""What happens to positions whose margin is used up."""
