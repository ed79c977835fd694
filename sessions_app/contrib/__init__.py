"""Optional parts of the site: each is an app that a project adds to `INSTALLED_APPS`. Nothing else imports them."""
