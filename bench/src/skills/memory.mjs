// Packs and unpacks once in a process of its own and prints the most memory that it ever had, in MB.
import { packSkill, unpackSkill } from '../../../packages/oci-skills/dist/index.js';

const [source, target] = process.argv.slice(2);
const { layer } = await packSkill(source);
await unpackSkill(layer.bytes, target, { digest: layer.digest });
process.stdout.write(String(Math.round(process.resourceUsage().maxRSS / 1024)));
