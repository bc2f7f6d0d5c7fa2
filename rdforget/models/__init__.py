"""Who answers a call."""
