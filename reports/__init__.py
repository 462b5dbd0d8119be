"""Results as tables, figures and pages; nothing is computed here."""
