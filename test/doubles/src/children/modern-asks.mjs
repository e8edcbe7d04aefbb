import { ResourceTemplate, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const schema = (properties) => ({ inputSchema: fromJsonSchema({ type: 'object', properties }) });

const form = (message) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
  });
const questions = {
  form: () => form('What do you say?'),
  url: () => inputRequired.elicitUrl({ message: 'Please sign in', url: 'https://login.example/start' }),
  model: () =>
    inputRequired.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: 'Say something' } }],
      maxTokens: 50,
    }),
  roots: () => inputRequired.listRoots(),
};

const isAnswered = (answers, keys) => answers !== undefined && keys.every((key) => Object.hasOwn(answers, key));

/** Asks a form `count` times, one round each, and answers with all that was said; does its work once, at the end. */
async function rounds({ count = 3, padding = 0 }, context, state, codec) {
  const { inputResponses, requestState } = context.mcpReq;
  const said = requestState()?.said ?? [];
  const key = `round${said.length + 1}`;
  if (inputResponses !== undefined && Object.hasOwn(inputResponses, key)) said.push(inputResponses[key]);
  if (said.length >= Math.min(count, 50)) {
    state.effects += 1;
    return text(JSON.stringify({ said, pid: process.pid, effects: state.effects }));
  }
  return inputRequired({
    inputRequests: { [`round${said.length + 1}`]: form(`Round ${said.length + 1} of ${count}`) },
    requestState: await codec.mint({ said, padding: 'x'.repeat(Math.min(padding, 1_000_000)) }),
  });
}

/** Registers what asks: tools, a prompt and a resource. */
export function registerAsks(server, state, codec) {
  // Several kinds at once: { kinds: ["form", "url", "model", "roots"] }; asks again until every one is answered.
  const kinds = { type: 'array', items: { type: 'string' } };
  server.registerTool('ask', schema({ kinds }), ({ kinds: asked = ['form'] }, context) => {
    const { inputResponses } = context.mcpReq;
    if (isAnswered(inputResponses, asked)) return text(JSON.stringify(inputResponses));
    const missing = asked.filter((kind) => inputResponses === undefined || !Object.hasOwn(inputResponses, kind));
    // Answers are for one round: whatever is still missing is asked together with the rest.
    const again = missing.length < asked.length ? asked : missing;
    return inputRequired({ inputRequests: Object.fromEntries(again.map((kind) => [kind, questions[kind]()])) });
  });
  const counts = { count: { type: 'integer' }, padding: { type: 'integer' } };
  server.registerTool('rounds', schema(counts), (args, context) => rounds(args, context, state, codec));
  server.registerTool('think', schema({ times: { type: 'integer' } }), async ({ times = 2 }, context) => {
    const done = context.mcpReq.requestState()?.done ?? 0;
    if (done >= times) return text(`thought ${done} times`);
    return inputRequired({ requestState: await codec.mint({ done: done + 1 }) });
  });
  server.registerPrompt('asking', {}, (context) => {
    const answer = context.mcpReq.inputResponses?.form;
    if (answer === undefined) return inputRequired({ inputRequests: { form: questions.form() } });
    return { messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(answer) } }] };
  });
  server.registerResource(
    'asking',
    new ResourceTemplate('asking://{name}', { list: undefined }),
    {},
    (uri, _, context) => {
      const answer = context.mcpReq.inputResponses?.form;
      if (answer === undefined) return inputRequired({ inputRequests: { form: questions.form() } });
      return { contents: [{ uri: uri.href, text: JSON.stringify(answer) }] };
    },
  );
}
