import type { Command } from '../doubles/src/index.js';
export interface GatewayTestOptions {
  readonly isolation?: 'shared' | 'session' | 'principal' | 'lease';
  readonly lease?: Readonly<Record<string, number>>;
  readonly stateKeys?: readonly { readonly id: string; readonly key: Buffer }[];
  readonly stateMode?: 'relay' | 'sealed';
}
export interface GatewayUnderTest {
  readonly url: string;
  leases(): { readonly parked: number; readonly busy: number };
  close(): Promise<void>;
}
export async function openGateway(_command: Command, _options: GatewayTestOptions = {}): Promise<GatewayUnderTest> {
  throw new Error('later');
}
