// AG-UI's reference client, driven by lines of JSON: a command on each line of stdin, its result on a line of stdout.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [durable, url, key, threadId] = process.argv.slice(2);
const { fetchDurably } = await import(pathToFileURL(durable));
const { HttpAgent } = await import("@ag-ui/client");

let cuts = [];
let sites = [];
let requests = 0;
const plainFetch = globalThis.fetch;
const plainTimeout = globalThis.setTimeout;

/** Wait less than the page does before it connects again: the site is near. */
globalThis.setTimeout = (act, milliseconds, ...values) => plainTimeout(act, Math.min(milliseconds ?? 0, 20), ...values);

/**
 * Fetch, but break the connection after so many bytes of the response, for each number in `cuts`. Of several `sites`
 * the next one is asked each time, as a proxy does whose server is gone.
 */
globalThis.fetch = async (target, init) => {
  if (sites.length > 0) target = sites[requests % sites.length] + new URL(target).pathname;
  requests += 1;
  const response = await plainFetch(target, init);
  if (!response.ok || cuts.length === 0) return response;
  let left = cuts.shift();
  const reader = response.body.getReader();
  const body = new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      if (value.length < left) {
        left -= value.length;
        return controller.enqueue(value);
      }
      controller.enqueue(value.subarray(0, left));
      controller.close();
      await reader.cancel();
    },
  });
  return new Response(body, response);
};

const agent = new HttpAgent({
  url,
  headers: { Authorization: `Bearer ${key}` },
  fetch: fetchDurably,
  threadId,
});

/** Run the agent; return what the client has afterwards, and the events of the run. */
async function run({ messages = [], ...parameters }) {
  agent.addMessages(messages);
  const events = [];
  let outcome = null;
  const subscriber = {
    onEvent({ event }) {
      events.push(event);
      if (parameters.echo) process.stdout.write(`${JSON.stringify({ event })}\n`);
    },
    onRunFinishedEvent(finished) {
      outcome = { type: finished.outcome, calls: finished.pendingToolCallIds };
    },
  };
  let error = null;
  requests = 0;
  cuts = parameters.cuts ?? [];
  sites = parameters.sites ?? [];
  await agent.runAgent(parameters, subscriber).catch((cause) => {
    error = String(cause);
  });
  const { messages: all, state, pendingInterrupts: interrupts } = agent;
  return { messages: all, state, interrupts, outcome, error, events, requests };
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if (command.state) agent.setState(command.state);
  process.stdout.write(`${JSON.stringify(await run(command))}\n`);
}
