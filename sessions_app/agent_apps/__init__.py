"""The apps that the site serves: where their agents are found, how they are loaded, reloaded and checked."""
