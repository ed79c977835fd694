// Addresses of the chat: a project may serve the pages below any path.

const { home } = document.documentElement.dataset;

/** Return the address of a page, by its path below the home page. */
export function addressOf(path) {
  return `${home}${path}`;
}
