import type { ReadLayerOptions, SkillContent } from '../types.js';
export declare function readLayer(
  layer: Uint8Array | AsyncIterable<Uint8Array>,
  options?: ReadLayerOptions,
): Promise<SkillContent>;
