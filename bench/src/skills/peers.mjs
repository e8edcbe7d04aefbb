// The two libraries that most programs pack with.
import { createReadStream, createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline as writeEntry } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import * as tar from 'tar';
import tarStream from 'tar-stream';

export const peers = {
  'tar-stream': {
    async pack(files, _folder, target) {
      const pack = tarStream.pack();
      const written = pipeline(pack, createGzip({ level: 6 }), createWriteStream(target));
      for (const { path, absolute } of files) pack.entry({ name: path, mtime: new Date(0) }, readFileSync(absolute));
      pack.finalize();
      await written;
    },
    async unpack(archive, folder) {
      const extract = tarStream.extract();
      extract.on('entry', (entry, stream, next) => {
        const target = join(folder, entry.name);
        mkdirSync(dirname(target), { recursive: true });
        writeEntry(stream, createWriteStream(target), next);
      });
      await pipeline(createReadStream(archive), createGunzip(), extract);
    },
  },
  'node-tar': {
    pack: (_files, folder, target) =>
      tar.create({ cwd: folder, file: target, gzip: { level: 6 }, portable: true }, ['.']),
    unpack: (archive, folder) => tar.extract({ file: archive, cwd: folder }),
  },
};
