import { LIST_CACHE_MIB } from '@fitness/shared/kernel/config.ts';
import { testMovingProfiles } from './moving-profiles-cases.ts';

testMovingProfiles({ listCacheMib: LIST_CACHE_MIB, isWhole: false });
