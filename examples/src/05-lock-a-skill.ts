// An Agent Skill from a folder into a project, pinned in a lock file, checked after somebody changed it.
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRegistry, openStore, validateSkill } from '@thv/oci-skills';
import { createGitResolver, createHostGuard, createSkillService } from '@thv/skills-lock';
import { openSqliteSkillStore } from '@thv/skills-lock/sqlite';

const root = mkdtempSync(join(tmpdir(), 'thv-example-'));
const [home, project, source] = ['home', 'project', 'hello-skill'].map((name) => join(root, name)) as [
  string,
  string,
  string,
];
for (const folder of [home, join(project, '.git'), source]) mkdirSync(folder, { recursive: true });
writeFileSync(join(source, 'SKILL.md'), '---\nname: hello-skill\ndescription: Says hello.\n---\n# Hello\n');
assert.equal((await validateSkill(source)).valid, true);

const env = { PATH: process.env.PATH };
const store = await openSqliteSkillStore(join(root, 'state/skills.db'));
const artifacts = await openStore(join(root, 'artifacts'));
const registry = createRegistry({ env, home });
const git = createGitResolver({ guard: createHostGuard(), env });
const service = createSkillService({ store, artifacts, registry, git, home, stateFolder: join(root, 'state'), env });

const place = { scope: 'project', project_root: project };
const installed = await service.install({ name: source, ...place, clients: ['claude-code'], allow_unsigned: true });
console.log('Installed', installed.skill.metadata.name, installed.skill.digest);
const check = () => service.sync({ project_root: project, check: true });
assert.deepEqual((await check()).already_current, ['hello-skill']);

appendFileSync(join(project, '.claude/skills/hello-skill/SKILL.md'), 'something else\n');
const found = await check();
console.log('Drift:', found.drift);
assert.deepEqual(found.drifted, ['hello-skill']);

await Promise.all([store.close(), artifacts.close(), registry.close()]);
rmSync(root, { recursive: true, force: true });
