"""Joining the region: node tokens, enrolment, renewal."""
