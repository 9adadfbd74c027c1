"""Joining the federation: tokens, requests, certificates, bans."""
