export { parseTemplate, templateTrees, type ExecuteOptions, type ParseOptions, type Template } from './template.js';
export { extraFunctions } from './extra-functions.js';
export { references } from './references.js';
export { GoTemplateError, type GoTemplateErrorCode, type GoTemplateErrorPlace } from './errors.js';
export type { ParameterType, TemplateFunction, TemplateFunctions } from './function.js';
export type { RenderBudget } from './budget.js';
export type { MissingKey } from './machine.js';
export { GoComplex, GoInteger, NIL_MAP, type GoIntegerType, type GoValue, type NilMap } from './value.js';
export type { Trees } from './parse.js';
export type {
  ActionNode,
  BranchNode,
  ChainNode,
  CommandNode,
  Expression,
  FieldNode,
  IdentifierNode,
  JumpNode,
  NumberNode,
  PipeNode,
  Statement,
  StringNode,
  TemplateNode,
  TextNode,
  VariableNode,
} from './nodes.js';
