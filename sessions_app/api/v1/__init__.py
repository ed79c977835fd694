"""Operations of the site's own API."""
