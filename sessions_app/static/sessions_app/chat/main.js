// Chat page: create the parts and dispatch each frame to them.

import { Composer } from "./composer.js";
import { enableConfirmations, listenForConfirmations } from "./confirmations.js";
import { Conversation, embeddedInvocations } from "./conversation.js";
import { parse } from "./dom.js";
import { setUpEarlierButton } from "./earlier.js";
import { Edit } from "./edit.js";
import { hasEnded, Invocations } from "./invocations.js";
import { Jobs } from "./jobs.js";
import { LiveText } from "./live.js";
import { Outbox } from "./outbox.js";
import { Outcomes } from "./outcomes.js";
import { Schedules } from "./schedules.js";
import { Scroll } from "./scroll.js";
import { ChatSocket } from "./socket.js";
import { showStateDelta } from "./state.js";
import { showElapsed, showLocalTimes } from "./times.js";

const CONNECTION_LABELS = {
  connected: "Connected",
  reconnecting: "Reconnecting…",
  offline: "Offline",
  gone: "Chat not found",
  "signed-out": "Signed out",
};
const CLOSED_NOTICES = {
  gone: "This chat no longer exists. It may have been deleted in another tab.",
  "signed-out": "You are signed out. Reload the page to sign in.",
};

const byId = (id) => document.getElementById(id);
const main = byId("main");
const { session, socket: socketPath, events: eventsUrl } = main.dataset;

const GAP_REQUEST_INTERVAL = 1000;
const LONGEST_TITLE = 80;
let lastGapRequest = 0;
let updatedSinceReady = new Set(); // ids of invocations with a frame since the last "ready" frame
const conversation = new Conversation(main, { onGap: () => onGap(() => socket.reconnect()) });
const live = new LiveText(byId("live"), { onGap: () => onGap(() => socket.hello()) });
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
  onLost: () => showNotice("The message that you were editing was removed. Your text will be sent as a new message."),
});

const handlers = {
  ready(frame) {
    updatedSinceReady = new Set();
    const hasEndedMeanwhile = invocations.replaceActive(frame.invocation);
    live.clear(); // the server sends the streamed text again from its start
    frame.jobs.forEach((job) => jobs.show(job));
    schedules.replace(frame.schedules);
    outbox.resend();
    if (hasEndedMeanwhile || outcomes.offersRetry) loadOutcomes(frame.seq);
  },
  event(frame) {
    if (!conversation.add(frame)) return;
    if (frame.rewound_from) {
      outcomes.handleRewind();
      edit.handleRewind();
    }
    live.finish(frame.event.id);
    if (frame.event.customMetadata?.adk_resumed) live.adoptLease(frame.event.customMetadata.adk_resumed);
    outbox.reconcile(frame.event.invocationId);
    outcomes.refresh(frame.event.invocationId);
    jobs.showPending();
    if (byId("state")) {
      showStateDelta(byId("state"), byId(`event-${frame.seq}`) ?? parse(frame.html), frame.event.actions.stateDelta);
    }
    setTitle(conversation.messageOf(frame.event.invocationId));
    if (byId(`event-${frame.seq}`)) scroll.offerNewest();
  },
  partial(frame) {
    live.write(frame);
    scroll.offerNewest();
  },
  invocation(frame) {
    updatedSinceReady.add(frame.id);
    handleInvocation(frame);
  },
  job(frame) {
    jobs.show(frame);
    if (frame.question) {
      byId("asked").textContent = frame.question.text; // screen readers skip the cards, which change often
      scroll.offerNewest();
    }
  },
  schedule(frame) {
    schedules.update(frame);
  },
  error(frame) {
    composer.enableStop();
    enableConfirmations(conversation.log);
    outcomes.enableRetry();
    if (!outbox.refuse(frame.in_reply_to, frame.message)) showNotice(frame.message);
  },
  pong() {},
};

function onFrame(frame) {
  handlers[frame.type]?.(frame);
  showActivity();
}

function onState(state) {
  byId("connection").dataset.state = state;
  byId("connection").textContent = CONNECTION_LABELS[state];
  if (CLOSED_NOTICES[state]) {
    showNotice(CLOSED_NOTICES[state]);
    composer.close();
  }
}

// Request what is missing, but not again for every frame that arrives before the response.
function onGap(request) {
  if (Date.now() - lastGapRequest < GAP_REQUEST_INTERVAL) return;
  lastGapRequest = Date.now();
  request();
}

function handleInvocation(frame, { isEarlier = false } = {}) {
  const text = frame.text ?? outbox.textOf(frame.client_id);
  invocations.update(frame);
  outbox.acknowledge(frame);
  outcomes.show({ ...frame, text, isEarlier });
  if (hasEnded(frame.status)) live.drop(frame.id);
}

// Load the outcomes of invocations that ended while the page was disconnected; pages of the log contain them.
async function loadOutcomes(seq) {
  const updated = updatedSinceReady;
  const response = await fetch(`${eventsUrl}?before=${seq + 1}`);
  if (!response.ok || updated !== updatedSinceReady) return;
  // Frames that arrived during the request are newer than the response.
  const frames = embeddedInvocations(parse(await response.text())).filter(({ id }) => !updated.has(id));
  frames.forEach((frame) => handleInvocation(frame, { isEarlier: updated.size > 0 }));
}

function send(text, replaces) {
  showNotice("");
  outbox.send(text, replaces);
  scroll.toEnd();
}

function mayEdit() {
  const isRunning = invocations.current !== null;
  showNotice(isRunning ? "An answer is being written. Stop it or wait for it to finish, then edit." : "");
  return !isRunning && !composer.field.disabled;
}

function stop() {
  if (!socket.send("cancel", { invocation_id: invocations.current })) composer.enableStop();
}

function showActivity() {
  const isRunning = invocations.current !== null;
  composer.running = invocations.current;
  main.toggleAttribute("data-busy", isRunning);
  byId("working").hidden = !isRunning || !live.isEmpty;
}

// Use the first message as the title, truncated as on the server.
function setTitle(text) {
  const heading = document.querySelector(".bar-title[data-unnamed]");
  if (!heading || !text) return;
  delete heading.dataset.unnamed;
  const title = titleFrom(text);
  for (const place of [heading, ...document.querySelectorAll('[aria-current="page"] .item-title')]) place.textContent = title;
  document.title = document.title.replace("New chat", () => title);
}

function titleFrom(text) {
  const characters = [...text.trim().replace(/\s+/g, " ")];
  if (characters.length <= LONGEST_TITLE) return characters.join("");
  return `${characters.slice(0, LONGEST_TITLE).join("").replace(/ [^ ]*$/, "")}…`;
}

function showNotice(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
}

embeddedInvocations(conversation.log).forEach((frame) => handleInvocation(frame));
listenForConfirmations(conversation.log, (callId, confirmed) => socket.send("confirm", { call_id: callId, confirmed }));
setUpEarlierButton({
  button: byId("earlier"),
  conversation,
  scroll,
  url: eventsUrl,
  onLoaded: (frames) => frames.forEach((frame) => outcomes.show({ ...frame, isEarlier: true })),
});
showLocalTimes(byId("side"));
setInterval(() => showElapsed(document), 1000);
showElapsed(document);
showActivity();
scroll.toEnd();
socket.start();
