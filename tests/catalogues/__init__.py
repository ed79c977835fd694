"""Catalogues of the chat: sentences of the sources, their translations in `.po` files, and what is compiled of them."""
