// Changes of a chat in the list, sent to the server: rename, pin, archive, delete and their opposites.

import { addressOf } from "./addresses.js";
import { t } from "./language.js";
import { post } from "./post.js";

/** Make a change to a chat. Throws an Error with a sentence for the person when it is refused. */
export async function change(id, what, fields) {
  const response = await post(addressOf(`chat/${id}/${what}/`), fields).catch(() => null);
  if (!response) throw new Error(t("There is no connection. Try again."));
  if (response.redirected) throw new Error(t("You are signed out. Reload the page to sign in."));
  if (response.ok) return;
  const { error } = await response.json().catch(() => ({}));
  throw new Error(error ?? t("This did not work. Try again."));
}
