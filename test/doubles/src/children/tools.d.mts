export declare const LOSSLESS_RESULT: string;
