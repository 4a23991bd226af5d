"""What a command refuses to do."""


class Refusal(Exception):
    """Something that the user can mend; the message is one sentence that says how."""
