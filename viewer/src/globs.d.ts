declare module "glob:./views" {
  const views: import("./view.ts").View[];
  export default views;
}
