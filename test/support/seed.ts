import fc from 'fast-check';

/** All property tests of a run use the same seed. A test that fails prints the seed and the path to its case. */
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED) });
