import { describeLocalSkills } from './support/local-suite.js';
import { describeRegistrySkills } from './support/registry-suite.js';

describeLocalSkills('client');
describeRegistrySkills('client');
