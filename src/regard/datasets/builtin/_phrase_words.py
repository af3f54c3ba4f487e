"""The words of `phrases`: English and Chinese side by side.

"in=在 the library=图书馆": a word and what it becomes; a word without "=" becomes nothing. Within a phrase both
languages have the same order; the grammar orders the phrases.
"""

from __future__ import annotations

from typing import NamedTuple


class Noun(NamedTuple):
    """A countable noun: both forms, and the measure word that stands between a number and it."""

    one: str
    many: str
    chinese: str
    measure: str


class Verb(NamedTuple):
    """stem, with -s, past, Chinese, and which objects it takes; a wish or a feeling is neither past nor anywhere."""

    stem: str
    third: str
    past: str
    chinese: str
    objects: tuple[str, ...]
    sort: str = "action"


SUBJECTS = {
    "I": "I=我",
    "you": "you=你",
    "we": "we=我们",
    "they": "they=他们",
    "children": "the children=孩子们",
    "students": "the students=学生们",
    "parents": "my=我的 parents=父母",
    "friends": "our=我们的 friends=朋友",
    "he": "he=他",
    "she": "she=她",
    "mother": "my=我的 mother=妈妈",
    "father": "her=她的 father=爸爸",
    "friend": "my=我的 friend=朋友",
    "sister": "his=他的 sister=妹妹",
    "brother": "your=你的 brother=哥哥",
    "neighbour": "our=我们的 neighbour=邻居",
    "teacher": "the teacher=老师",
    "doctor": "the doctor=医生",
    "engineer": "the engineer=工程师",
    "writer": "the writer=作家",
    "scientist": "the scientist=科学家",
    "manager": "the new=新 manager=经理",
    "nurse": "the young=年轻的 nurse=护士",
    "professor": "the old=老 professor=教授",
}
PLURAL = frozenset({"I", "you", "we", "they", "children", "students", "parents", "friends"})
"""Subjects whose verb has no -s."""

FIELDS = (
    "natural=自然 language=语言 processing=处理",
    "machine=机器 learning=学习",
    "deep=深度 learning=学习",
    "computer=计算机 vision=视觉",
    "computer=计算机 science=科学",
    "data=数据 science=科学",
    "speech=语音 recognition=识别",
    "machine=机器 translation=翻译",
    "information=信息 retrieval=检索",
    "mathematics=数学",
    "physics=物理",
    "chemistry=化学",
    "biology=生物",
    "history=历史",
    "Chinese=中国 history=历史",
    "philosophy=哲学",
    "music=音乐",
    "English=英语",
    "Chinese=中文",
    "law=法律",
    "medicine=医学",
)
DRINKS = ("tea=茶", "coffee=咖啡", "water=水", "milk=牛奶", "juice=果汁", "soup=汤")
NOUNS = {
    "readings": (
        Noun("book", "books", "书", "本"),
        Noun("novel", "novels", "小说", "本"),
        Noun("magazine", "magazines", "杂志", "本"),
        Noun("letter", "letters", "信", "封"),
        Noun("article", "articles", "文章", "篇"),
        Noun("report", "reports", "报告", "份"),
        Noun("newspaper", "newspapers", "报纸", "份"),
        Noun("poem", "poems", "诗", "首"),
        Noun("story", "stories", "故事", "个"),
    ),
    "foods": (
        Noun("apple", "apples", "苹果", "个"),
        Noun("orange", "oranges", "橙子", "个"),
        Noun("pear", "pears", "梨", "个"),
        Noun("banana", "bananas", "香蕉", "根"),
        Noun("egg", "eggs", "鸡蛋", "个"),
        Noun("cake", "cakes", "蛋糕", "块"),
        Noun("sandwich", "sandwiches", "三明治", "个"),
        Noun("fish", "fish", "鱼", "条"),
    ),
    "goods": (
        Noun("car", "cars", "汽车", "辆"),
        Noun("bicycle", "bicycles", "自行车", "辆"),
        Noun("camera", "cameras", "相机", "台"),
        Noun("computer", "computers", "电脑", "台"),
        Noun("phone", "phones", "手机", "部"),
        Noun("shirt", "shirts", "衬衫", "件"),
        Noun("coat", "coats", "大衣", "件"),
        Noun("hat", "hats", "帽子", "顶"),
        Noun("table", "tables", "桌子", "张"),
        Noun("map", "maps", "地图", "张"),
        Noun("chair", "chairs", "椅子", "把"),
        Noun("umbrella", "umbrellas", "雨伞", "把"),
        Noun("watch", "watches", "手表", "块"),
        Noun("bag", "bags", "包", "个"),
    ),
    "shows": (
        Noun("film", "films", "电影", "部"),
        Noun("match", "matches", "比赛", "场"),
        Noun("play", "plays", "话剧", "部"),
        Noun("programme", "programmes", "节目", "个"),
    ),
}
ADJECTIVES = {
    "readings": "new=新 old=旧 good=好 long=长 short=短 interesting=有趣的 famous=有名的 boring=无聊的 "
    "important=重要的 useful=有用的",
    "foods": "fresh=新鲜的 delicious=美味的 sweet=甜的 cheap=便宜的 big=大 small=小",
    "drinks": "hot=热 cold=冷 fresh=新鲜的 good=好",
    "goods": "new=新 old=旧 big=大 small=小 red=红色的 blue=蓝色的 green=绿色的 black=黑色的 white=白色的 "
    "beautiful=漂亮的 cheap=便宜的 expensive=昂贵的",
    "shows": "new=新 old=老 good=好 long=长 interesting=有趣的 famous=有名的 boring=无聊的 wonderful=精彩的",
}
SINGULAR = {"a": "一", "this": "这", "that": "那", "my": "我的", "her": "她的", "his": "他的", "your": "你的"}
SEVERAL = {
    "two": "两",
    "three": "三",
    "five": "五",
    "these": "这些",
    "many": "很多",
    "my": "我的",
    "your": "你的",
    "": "",
}
COUNTING = frozenset({"a", "this", "that", "two", "three", "five"})
"""Words before a noun that call for its measure word."""
VAGUE = frozenset({"a", "two", "three", "five", "many"})
"""Words before a noun that are odd where nothing happened ("did not buy two hats") and after a feeling."""

THINGS = ("readings", "foods", "drinks", "goods")
VERBS = (
    Verb("love", "loves", "loved", "爱", ("fields", "foods", "drinks", "shows", "readings"), "feeling"),
    Verb("like", "likes", "liked", "喜欢", ("fields", *THINGS, "shows"), "feeling"),
    Verb("need", "needs", "needed", "需要", THINGS, "wish"),
    Verb("want", "wants", "wanted", "想要", THINGS, "wish"),
    Verb("understand", "understands", "understood", "理解", ("fields", "readings"), "feeling"),
    Verb("remember", "remembers", "remembered", "记得", ("readings", "shows"), "feeling"),
    Verb("study", "studies", "studied", "学习", ("fields",)),
    Verb("teach", "teaches", "taught", "教", ("fields",)),
    Verb("discuss", "discusses", "discussed", "讨论", ("fields", "readings", "shows")),
    Verb("read", "reads", "read", "读", ("readings",)),
    Verb("write", "writes", "wrote", "写", ("readings",)),
    Verb("translate", "translates", "translated", "翻译", ("readings",)),
    Verb("borrow", "borrows", "borrowed", "借", ("readings", "goods")),
    Verb("buy", "buys", "bought", "买", THINGS),
    Verb("sell", "sells", "sold", "卖", THINGS),
    Verb("eat", "eats", "ate", "吃", ("foods",)),
    Verb("drink", "drinks", "drank", "喝", ("drinks",)),
    Verb("watch", "watches", "watched", "看", ("shows",)),
    Verb("repair", "repairs", "repaired", "修", ("goods",)),
    Verb("choose", "chooses", "chose", "选", ("goods", "readings")),
)
PLACES = (
    "at=在 home=家",
    "at=在 school=学校",
    "at=在 the station=车站",
    "at=在 the market=市场",
    "in=在 the library=图书馆",
    "in=在 the park=公园",
    "in=在 the office=办公室",
    "in=在 the classroom=教室",
    "in=在 the kitchen=厨房",
    "in=在 the hospital=医院",
    "in=在 Beijing=北京",
    "in=在 Shanghai=上海",
    "in=在 London=伦敦",
)
TIMES = {
    "present": ("every=每 day=天", "every=每 week=周", "every=每天 morning=早上", "every=每天 evening=晚上"),
    "past": (
        "yesterday=昨天",
        "last=上 week=周",
        "last=昨 night=晚",
        "last=去 year=年",
        "this=今天 morning=早上",
    ),
    "future": ("tomorrow=明天", "tonight=今晚", "next=下 week=周", "next=明 year=年"),
}
LINKS = (", but=但是", ", and=而且", ", because=因为")
MEASURES = frozenset(noun.measure for nouns in NOUNS.values() for noun in nouns)
