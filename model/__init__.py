"""The deterministic accounting model: pure functions of scenarios, arrays in and arrays out."""
