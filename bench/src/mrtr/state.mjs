import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createStateCodec } from '../../../packages/mrtr/dist/index.js';
import { median } from '../lib/stats.mjs';

const key = randomBytes(32);
const binding = {
  principal: { issuer: 'https://login.example', subject: 'user-4711' },
  method: 'tools/call',
  params: { name: 'deploy', arguments: { environment: 'production', version: '1.2.3' } },
  audience: 'workload-1',
};
/** Bytes of what is kept in the state. */
const sizes = [300, 3000];
const ITERATIONS = 1500;

/** The cipher and nothing else: random nonce, authenticated encryption, base64url. */
const bare = {
  seal(plain) {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce);
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url');
  },
  open(token) {
    const bytes = Buffer.from(token, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(-16));
    return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
  },
};

/** Sealing and opening, each in turns with the bare cipher over as many bytes. */
export async function measureState(report, reps) {
  const codec = createStateCodec({ keys: [{ id: 'k1', key }] });
  const rows = [];
  for (const size of sizes) {
    const payload = { step: 2, answers: { name: 'x'.repeat(size - 40) } };
    const sealed = await codec.seal(payload, binding);
    const opened = await codec.open(sealed, binding);
    if (opened.kind !== 'opened') throw new Error(`A state of ${size} bytes does not open: ${opened.reason}`);
    // What the token holds beside nonce and tag.
    const plain = randomBytes(Buffer.from(sealed.split('.')[2], 'base64url').length - 28);
    const bareToken = bare.seal(plain);
    const actions = {
      seal: () => codec.seal(payload, binding),
      'bare seal': () => bare.seal(plain),
      open: () => codec.open(sealed, binding),
      'bare open': () => bare.open(bareToken),
    };
    const samples = Object.fromEntries(Object.keys(actions).map((name) => [name, []]));
    for (let rep = 0; rep < reps + 2; rep += 1) {
      for (const [name, action] of Object.entries(actions)) {
        const us = await timeOf(action);
        // The first rounds are for the compiler.
        if (rep >= 2) samples[name].push(us);
      }
    }
    report.sample({ what: 'state', size, ...samples });
    const of = (name) => median(samples[name]);
    for (const name of ['seal', 'open']) {
      const [ours, reference] = [of(name), of(`bare ${name}`)];
      report.figure({ name: `${name}/${size}B`, unit: 'us', ours, reference, atMost: 3 });
    }
    rows.push({
      payload: `${size} B`,
      token: `${sealed.length} B`,
      ...Object.fromEntries(Object.keys(actions).map((name) => [`${name} µs`, of(name)])),
    });
  }
  report.table('request state: medians', rows);
}

async function timeOf(action) {
  const started = performance.now();
  for (let index = 0; index < ITERATIONS; index += 1) await action();
  return ((performance.now() - started) * 1000) / ITERATIONS;
}
