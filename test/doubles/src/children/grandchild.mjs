// A process below the server: holds out against signals when told so, and ends by itself after ten minutes at most.
const { ignoreSignals = [] } = JSON.parse(process.argv[2] ?? '{}');
for (const signal of ignoreSignals) process.on(signal, () => {});
setTimeout(() => process.exit(0), 600_000);
