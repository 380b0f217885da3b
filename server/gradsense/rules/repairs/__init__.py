"""Edits that several rules offer, each worked out from the proof of a finding."""
