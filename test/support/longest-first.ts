import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that start programs take longest. At the end of the run, one of them would leave the other workers idle. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // The empty text is part of every path.
    const rank = ({ moduleId }: TestSpecification) =>
      ['/test/acceptance/', '/src/platform/', ''].findIndex((folder) => moduleId.includes(folder));
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
