import { type Component, componentsOf, IMAGES } from '../components.ts';

export const ARCHITECTURES = ['x64', 'arm64'];

const HEAD = `The images fitness-platform and fitness-platform-sandbox contain the components below, each under its license.

The text of the license of a package is in its folder below /app/node_modules; where its authors publish none, the text is that
of the identifier at https://spdx.org/licenses. The components inside of libvips are in its THIRD-PARTY-NOTICES.md. The license of
Node.js and what it contains is /usr/local/LICENSE. Those of the system packages of Debian are
/usr/share/doc/<package>/copyright; \`npm run sbom -- <image>\` lists their versions.
`;

const line = ({ name, version }: Component): string => `  ${name} ${version}`;

/** Every package of the images with its license. */
export const generate = (): Record<string, string> => {
  const components = componentsOf(Object.values(IMAGES).flat(), ARCHITECTURES);
  const licenses = [...new Set(components.map(({ license }) => license))].sort();
  const sections = licenses.map((license) =>
    [license, ...components.filter((component) => component.license === license).map(line)].join('\n'),
  );
  return { NOTICE: `${[HEAD, ...sections].join('\n\n').replace('\n\n\n', '\n\n')}\n` };
};
