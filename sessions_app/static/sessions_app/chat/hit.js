// Event that a search has found: its page of the log is loaded, and the event is marked and gets the focus.

import { moveFocus } from "./dom.js";
import { conversation, loadEarlier } from "./main.js";
import { loadStyles } from "./styles.js";

await loadStyles("onDemand");

const address = new URL(location);
const seq = Number(address.searchParams.get("hit"));
address.searchParams.delete("hit");
history.replaceState(history.state, "", address); // a reload shows the end of the chat
const article = await find();
if (article) show(article);

async function find() {
  const isEarlier = () => seq < conversation.log.querySelector(".log-page").dataset.firstSeq;
  while (isEarlier() && (await (await loadEarlier())()));
  return conversation.find(`article[data-seq="${seq}"]:not([hidden])`);
}

function show(row) {
  row.dataset.hit = ""; // is not folded from now on
  conversation.chunks.unfold([row]);
  row.scrollIntoView({ behavior: "instant" });
  moveFocus(row);
}
