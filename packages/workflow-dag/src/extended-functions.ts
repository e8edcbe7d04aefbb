import { extraFunctions } from '@thv/go-template';

/** Functions of templates that ask for `functions: extended`. */
export const extendedFunctions = extraFunctions;
