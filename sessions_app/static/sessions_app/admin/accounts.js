// Names for screen readers in the forms of users and groups.

/** Give the icons of Django's chooser of permissions the role that their names need. */
function nameIcons() {
  for (const icon of document.querySelectorAll(".search-label-icon")) icon.setAttribute("role", "img");
}

// After Django's script, which makes the icons in a handler of the same event.
addEventListener("load", () => setTimeout(nameIcons));
