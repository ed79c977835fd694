// Errors of attempts that were repeated: they become quiet notes, because an answer or a newer error follows.

import { t } from "./language.js";

/** Make each error quiet that a later article of its invocation follows. */
export function quietRetriedErrors(articles) {
  const last = new Map(articles.map((article) => [article.dataset.invocation, article]));
  for (const article of articles) {
    if ("error" in article.dataset && last.get(article.dataset.invocation) !== article) quietErrors(article);
  }
}

/** Make the errors of an article or row quiet. */
export function quietErrors(row) {
  for (const error of row.querySelectorAll(".error")) {
    error.className = "mark";
    error.prepend(`${t("An attempt failed:")} `);
  }
}
