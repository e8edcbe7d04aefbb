export { fulfilRound } from './fulfil.js';
export type { AskOutcome, FulfilOptions, FulfilledRound, LegacyClient } from './fulfil.js';
export { createPark } from './park.js';
export type { Park, ParkOptions, ParkedQuestion, SetTimer } from './park.js';
