"""Home page of the admin: what needs the user now. Overview: today at a glance, and the last 30 days."""
