"""`intertie demo`: the main job end to end, on real tasks, with the verified bill at the end."""
