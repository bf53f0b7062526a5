/** Constants of the demo data. */
import { DEMO_PASSWORD, demoPhone } from '@fitness/shared/kernel/known-values.ts';

export interface Person {
  username: string;
  phone: string;
  first_name: string;
  last_name: string;
  /** In centimeters. Written last: it marks a complete account. */
  height: number;
}

const person = (
  username: string,
  number: number,
  firstName: string,
  lastName: string,
  height: number,
): Person => ({
  username,
  phone: demoPhone(number),
  first_name: firstName,
  last_name: lastName,
  height,
});

export const operatorPerson = person('operator', 2, 'Omid', 'Rahimi', 180);
export const athletePerson = person('athlete', 3, 'Arash', 'Karimi', 184);
export const ownerPerson = person('owner', 4, 'Nasrin', 'Moradi', 168);
export const trainerPerson = person('trainer', 5, 'Taha', 'Jafari', 178);
export const premiumPerson = person('premium', 6, 'Parisa', 'Sadeghi', 170);
export const saverPerson = person('saver', 7, 'Saman', 'Hosseini', 176);

/** The demo accounts, which share a password. The operator needs a second factor for most of their permissions. */
export const DEMO_ACCOUNTS = [
  operatorPerson,
  athletePerson,
  ownerPerson,
  trainerPerson,
  premiumPerson,
  saverPerson,
].map(({ username }) => ({ username, password: DEMO_PASSWORD }));

export const DEMO_GYM = {
  name: 'Alborz Gym',
  address: 'Valiasr Street 1204, Tehran',
  location_lat: 35.7595,
  location_lng: 51.4103,
  description: 'Free weights, machines and a climbing wall.',
};

export const DEMO_TRAINING = {
  title: 'Twelve weeks to the first marathon',
  description: 'A plan for each week, and a call on Fridays.',
  price: 500_000,
  duration_days: 84,
};

export interface DemoPost {
  title: string;
  content: string;
  /** A file of `pictures`. */
  picture: string;
}

/** Posts of the owner; the last one is the newest. */
export const DEMO_POSTS: readonly DemoPost[] = [
  {
    title: 'Three exercises for your back',
    content: 'Plank, bird dog and bridge.\nThree sets of ten, every other day.',
    picture: 'back-exercises.jpg',
  },
  {
    title: 'صبحانهٔ پیش از تمرین',
    content: 'جو دوسر، توت‌فرنگی و بلوبری.\nیک ساعت پیش از تمرین بخورید.',
    picture: 'breakfast.jpg',
  },
  {
    title: 'New routes on the climbing wall',
    content: 'Twelve new routes, four of them for beginners. We show you how on Saturdays at five.',
    picture: 'climbing-wall.jpg',
  },
];

/** Tooman. */
export const SAVER_DEPOSIT = 300_000;
export const SAVER_WITHDRAWAL = 50_000;

export const TRAINER_BANK_ACCOUNT = 'IR062960000000100324200001';
export const SAVER_BANK_ACCOUNT = 'IR762960000000100324200002';
