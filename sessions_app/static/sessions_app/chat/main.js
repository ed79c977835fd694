// The chat page: puts the parts together and hands each frame to the one it is for.

import { Composer } from "./composer.js";
import { Conversation, toldInvocations } from "./conversation.js";
import { parse } from "./dom.js";
import { loadEarlier } from "./earlier.js";
import { Edit } from "./edit.js";
import { hasEnded, Invocations } from "./invocations.js";
import { Jobs } from "./jobs.js";
import { LiveText } from "./live.js";
import { Outbox } from "./outbox.js";
import { Outcomes } from "./outcomes.js";
import { allowAnswers, listenForAnswers } from "./questions.js";
import { Schedules } from "./schedules.js";
import { Scroll } from "./scroll.js";
import { ChatSocket } from "./socket.js";
import { showChanges } from "./state.js";
import { showElapsed, showLocalTimes } from "./times.js";

const STATES = {
  connected: "Connected",
  reconnecting: "Reconnecting…",
  offline: "Offline",
  gone: "This chat is gone",
  "signed-out": "Signed out",
};
const ENDED = {
  gone: "This chat does not exist any more. It may have been deleted elsewhere.",
  "signed-out": "You are signed out. Load the page again to sign in.",
};

const byId = (id) => document.getElementById(id);
const main = byId("main");
const { session, socket: socketPath, events: eventsUrl } = main.dataset;

const PATIENCE = 1000;
const LONGEST_TITLE = 80;
let askedAt = 0;
const conversation = new Conversation(main, { onGap });
const live = new LiveText(byId("live"), { onGap });
const jobs = new Jobs(conversation.log, {
  onCancel: (id) => socket.send("cancel_job", { id }),
  onAnswer: (answer) => socket.send("answer_job", answer),
});
const schedules = new Schedules(byId("schedules"), { onCancel: (id) => socket.send("cancel_schedule", { id }) });
const scroll = new Scroll(main, byId("newest"));
const outcomes = new Outcomes(conversation, {
  onRetry: (id) => socket.send("retry", { invocation_id: id }),
});
const invocations = new Invocations();
const socket = new ChatSocket(socketPath, { after: () => conversation.lastSeq, onFrame, onState });
const outbox = new Outbox(byId("outbox"), session, {
  deliver: (message) => socket.isReady && socket.send("message", message),
  isShown: (invocationId) => conversation.messageOf(invocationId) !== null,
});
const composer = new Composer(byId("composer"), session, { onSend: (text) => send(text, edit.finish()), onStop: stop });
const edit = new Edit(byId("editing"), {
  sessionId: session,
  conversation,
  composer,
  mayBegin: mayEdit,
  onLost: () => notice("The message that you were editing is not on this page any more. Sent now, this would be a new message."),
});

const handlers = {
  ready(frame) {
    const missed = invocations.replaceActive(frame.invocation);
    live.clear(); // what still grows comes again, whole
    frame.jobs.forEach((job) => jobs.show(job));
    schedules.replace(frame.schedules);
    outbox.resend();
    if (missed || outcomes.offersRetry) learnOutcomes(frame.seq);
  },
  event(frame) {
    if (!conversation.add(frame)) return;
    if (frame.rewound_from) {
      outcomes.rewind();
      edit.rewind();
    }
    live.finish(frame.event.id);
    if (frame.event.customMetadata?.adk_resumed) live.takeUp(frame.event.customMetadata.adk_resumed);
    outbox.reconcile(frame.event.invocationId);
    outcomes.refresh(frame.event.invocationId);
    jobs.settle();
    showChanges(byId("state"), byId(`event-${frame.seq}`) ?? parse(frame.html), frame.event.actions.stateDelta);
    nameChat(conversation.messageOf(frame.event.invocationId));
    if (byId(`event-${frame.seq}`)) scroll.announce();
  },
  partial(frame) {
    live.write(frame);
    scroll.announce();
  },
  invocation: learn,
  job(frame) {
    jobs.show(frame);
    if (frame.question) {
      byId("asked").textContent = frame.question.text; // the cards are not read out: they change all the time
      scroll.announce();
    }
  },
  schedule(frame) {
    schedules.take(frame);
  },
  error(frame) {
    composer.allowStop();
    allowAnswers(conversation.log);
    outcomes.allowRetry();
    if (!outbox.refuse(frame.in_reply_to, frame.message)) notice(frame.message);
  },
  pong() {},
};

function onFrame(frame) {
  handlers[frame.type]?.(frame);
  showActivity();
}

function onState(state) {
  byId("connection").dataset.state = state;
  byId("connection").textContent = STATES[state];
  if (ENDED[state]) {
    notice(ENDED[state]);
    composer.close();
  }
}

// Something is missing: asks for it, but not once for each piece that comes before the answer.
function onGap() {
  if (Date.now() - askedAt < PATIENCE) return;
  askedAt = Date.now();
  socket.hello();
}

function learn(told) {
  const text = told.text ?? outbox.textOf(told.client_id);
  invocations.take(told);
  outbox.acknowledge(told);
  outcomes.tell({ ...told, text });
  if (hasEnded(told.status)) live.drop(told.id);
}

// Invocations ended while the page was not connected; how they did is told with the log.
async function learnOutcomes(seq) {
  const response = await fetch(`${eventsUrl}?before=${seq + 1}`);
  if (response.ok) toldInvocations(parse(await response.text())).forEach(learn);
}

function send(text, replaces) {
  notice("");
  outbox.send(text, replaces);
  scroll.toEnd();
}

function mayEdit() {
  const isRunning = invocations.current !== null;
  notice(isRunning ? "An answer is being written. Stop it, or wait for its end, then edit." : "");
  return !isRunning && !composer.field.disabled;
}

function stop() {
  if (!socket.send("cancel", { invocation_id: invocations.current })) composer.allowStop();
}

function showActivity() {
  const isRunning = invocations.current !== null;
  composer.running = invocations.current;
  main.toggleAttribute("data-busy", isRunning);
  byId("working").hidden = !isRunning || !live.isEmpty;
}

// The first message is the title, shortened as on the server.
function nameChat(text) {
  const unnamed = document.querySelector(".bar-title[data-unnamed]");
  if (!unnamed || !text) return;
  delete unnamed.dataset.unnamed;
  const title = titleFrom(text);
  for (const place of [unnamed, ...document.querySelectorAll('[aria-current="page"] .item-title')]) place.textContent = title;
  document.title = document.title.replace("New chat", () => title);
}

function titleFrom(text) {
  const characters = [...text.trim().replace(/\s+/g, " ")];
  if (characters.length <= LONGEST_TITLE) return characters.join("");
  return `${characters.slice(0, LONGEST_TITLE).join("").replace(/ [^ ]*$/, "")}…`;
}

function notice(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
}

toldInvocations(conversation.log).forEach(learn);
listenForAnswers(conversation.log, (callId, confirmed) => socket.send("confirm", { call_id: callId, confirmed }));
loadEarlier({
  button: byId("earlier"),
  conversation,
  scroll,
  url: eventsUrl,
  onLoaded: (told) => told.forEach((one) => outcomes.tell({ ...one, isEarlier: true })),
});
showLocalTimes(byId("side"));
setInterval(() => showElapsed(document), 1000);
showElapsed(document);
showActivity();
scroll.toEnd();
socket.start();
