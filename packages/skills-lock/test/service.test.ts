import { describeLocalSkills } from './support/local-suite.js';
import { describeRegistrySkills } from './support/registry-suite.js';

describeLocalSkills('service');
describeRegistrySkills('service');
