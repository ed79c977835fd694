"""Questions of the framework to a person: confirmations and credentials, and their answers."""
