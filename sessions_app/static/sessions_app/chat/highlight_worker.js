// Worker that colours code. A regular expression that never returns is ended with its worker.

import hljs from "../vendor/highlight/highlight.min.js";

addEventListener("message", ({ data: { text, language } }) => {
  postMessage(hljs.getLanguage(language) ? hljs.highlight(text, { language, ignoreIllegals: true }).value : null);
});

postMessage("ready");
